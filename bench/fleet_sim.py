"""Simulates a fleet: the real scheduler and limiters under a virtual clock.

python bench/fleet_sim.py [--tasks N] [--jobs N] [--seed N]
"""

import argparse
import heapq
import random
import time
import tracemalloc

from tau.modes.batch.limiter import Limiter
from tau.modes.batch.scheduler import Scheduler, TaskPlan


def simulate(tasks: int, jobs: int, capacity: int, seed: int) -> tuple[Scheduler, int, float]:
    """`capacity` is how many requests at once the provider serves. Returns the events and the virtual end."""
    chance = random.Random(seed)
    plans = {f"task-{number}": TaskPlan("provider", attempts=2) for number in range(tasks)}
    scheduler = Scheduler(plans, lambda _: Limiter(jobs), jobs)
    for _ in scheduler.load({}, {}):
        raise AssertionError("nothing is blocked")
    now, events, serving = 0.0, 0, 0
    ends: list[tuple[float, str, bool]] = []
    while not scheduler.finished:
        while (start := scheduler.next(now)) is not None:
            refused = serving >= capacity
            serving += not refused
            heapq.heappush(ends, (now + (0.2 if refused else chance.uniform(20, 60)), start.key, refused))
            events += 1
        wake = scheduler.wake_at(now)
        if ends and (wake is None or ends[0][0] <= wake):
            now, key, refused = heapq.heappop(ends)
            if refused:
                scheduler.limiter("provider").refused(now, 1.0)
                scheduler.requeue(key)
            else:
                serving -= 1
                scheduler.ended(key, "failed" if chance.random() < 0.02 else "done")
            events += 1
        elif wake is not None:
            now = wake
    return scheduler, events, now


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=512)
    parser.add_argument("--capacity", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    started = time.process_time()
    _, events, end = simulate(args.tasks, args.jobs, args.capacity, args.seed)
    cpu = time.process_time() - started
    least = args.tasks * 40 / args.capacity
    print(f"{args.tasks} tasks, {args.jobs} jobs, a provider that serves {args.capacity} at once")
    print(f"  {cpu / events * 1e6:.1f} us CPU a scheduling event ({events} events)")
    print(f"  {least / end:.0%} of the throughput of {args.capacity} fixed workers")
    tracemalloc.start()
    plans = {f"task-{number}": TaskPlan("provider") for number in range(args.tasks)}
    waiting = Scheduler(plans, lambda _: Limiter(args.jobs), args.jobs)
    list(waiting.load({}, {}))
    print(f"  {tracemalloc.get_traced_memory()[0] / args.tasks:.0f} bytes a waiting task")


if __name__ == "__main__":
    main()

"""A game on the screen: arrows turn, q ends."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

from tau.ext import Component, ExtensionAPI, ExtensionCommandContext, InputEvent, Paste

TURNS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
SIZE = 12


class Snake(Component):
    def __init__(self, screen: Any, done: Callable[[int], None]) -> None:
        self.screen, self.done = screen, done
        self.body, self.step, self.food = [(5, 5)], (1, 0), (8, 5)

    def move(self) -> None:
        head = ((self.body[0][0] + self.step[0]) % SIZE, (self.body[0][1] + self.step[1]) % SIZE)
        if head in self.body:
            self.done(len(self.body))
            return
        self.body = [head, *self.body]
        if head == self.food:
            self.food = (random.randrange(SIZE), random.randrange(SIZE))
        else:
            self.body.pop()
        self.screen.request_render()

    def render(self, width: int) -> list[str]:
        cells = [["." for _ in range(SIZE)] for _ in range(SIZE)]
        cells[self.food[1]][self.food[0]] = "*"
        for x, y in self.body:
            cells[y][x] = "o"
        return ["".join(row)[:width] for row in cells]

    def handle_input(self, event: InputEvent) -> bool:
        name = "" if isinstance(event, Paste) else event.name
        if name in TURNS:
            self.step = TURNS[name]
        elif name in ("q", "escape"):
            self.done(len(self.body))
        return True


def extension(tau: ExtensionAPI) -> None:
    @tau.command("snake")
    async def play(args: str, ctx: ExtensionCommandContext) -> None:
        """Play snake."""
        games: list[Snake] = []

        async def move() -> None:
            while games:
                games[0].move()
                await asyncio.sleep(0.15)

        def make(screen: Any, theme: Any, keys: Any, done: Callable[[int], None]) -> Component:
            games.append(Snake(screen, done))
            return games[0]

        tau.task(move())
        length = await ctx.ui.custom(make)
        games.clear()
        ctx.ui.notify(f"The snake is {length} long.")

"""A list of tasks that the model keeps, stored in the session."""

from tau.ext import ExtensionAPI, ToolRunContext


def extension(tau: ExtensionAPI) -> None:
    @tau.tool(effects="none")
    def note_task(task: str, ctx: ToolRunContext) -> str:
        """Remember a task for later.

        Args:
            task: what is to be done, in a few words
        """
        tau.append_entry("task", task)
        tasks = ctx.session.data("task")
        ctx.ui.widget("tasks", [f"- {one}" for one in tasks])
        return "\n".join(tasks)

"""What the screen says beside the conversation: status line, activity line, banner, todo panel."""

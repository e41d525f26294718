"""Everything on the screen besides the conversation: status line, activity line, banner, todo panel."""

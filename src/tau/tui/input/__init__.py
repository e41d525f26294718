"""From bytes of the keyboard to keys, pastes and actions."""

"""What all sessions together have used: read from their files, put together by day, and drawn."""

"""Telegram: a bot that polls for messages, over python-telegram-bot."""

import asyncio
import time
from collections.abc import AsyncIterator
from io import BytesIO
from typing import Any

import httpx
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, InputFile, Message, Update
from telegram.error import BadRequest, ChatMigrated, Forbidden, InvalidToken, RetryAfter, TelegramError
from telegram.request import HTTPXRequest

from tau.base.clock import now_ms
from tau.base.errors import TauError
from tau.base.sizes import MIB
from tau.relay.channels.channel import ChannelDown, ChannelLimits, ChannelLink, ChannelRejected, ChatChannel
from tau.relay.channels.connection import Backoff, Downloads, http_client
from tau.relay.config import RelayHome
from tau.relay.log import RelayLog
from tau.relay.message import ChatFile, InboundMessage
from tau.relay.settings import RelayConfig

POLL_S = 50
WRITE_S = 60
MAX_DOWNLOAD_BYTES = 20 * MIB  # what the Bot API hands out
KINDS = ("message", "edited_message", "callback_query")


class TelegramChannel(ChatChannel):
    name = "telegram"
    limits = ChannelLimits(text_units=4096, choices=True)

    def __init__(self, config: RelayConfig, token: str, home: RelayHome, log: RelayLog) -> None:
        """Raises TauError if the token cannot be one."""
        base = config.telegram.api_url.rstrip("/")
        try:
            self._bot = Bot(
                token,
                base_url=f"{base}/bot",
                base_file_url=f"{base}/file/bot",
                request=HTTPXRequest(connect_timeout=15, read_timeout=30, media_write_timeout=WRITE_S),
                get_updates_request=HTTPXRequest(connect_timeout=15, read_timeout=POLL_S + 15),
            )
        except InvalidToken:
            raise TauError("telegram.token is not the token of a bot.") from None
        self._log = log
        self._http = http_client(lambda host, port: False)
        self._downloads = Downloads(home.inbound, self._http)
        self._backoff = Backoff(config.web.reconnect, config.web.heartbeat_seconds)
        self._offset = 0

    async def start(self, link: ChannelLink) -> None:
        self._link = link
        while True:
            started = time.monotonic()
            try:
                await self._bot.initialize()
                await self._bot.delete_webhook()
            except (InvalidToken, Forbidden):
                raise TauError("Telegram refused the bot's token.") from None
            except TelegramError as error:
                await self._pause(error, started)
            else:
                link.connected()
                return

    async def events(self) -> AsyncIterator[InboundMessage]:
        """An update is confirmed by asking for the next ones, so after the relay has stored it."""
        while True:
            started = time.monotonic()
            try:
                updates = await self._bot.get_updates(
                    offset=self._offset, timeout=POLL_S, allowed_updates=list(KINDS)
                )
            except (InvalidToken, Forbidden) as error:
                self._log.write("error", "telegram", f"Telegram refused the bot's token: {error}")
                return
            except TelegramError as error:
                await self._pause(error, started)
                continue
            self._link.connected()
            for update in updates:
                if (message := self._read(update)) is not None:
                    yield message
                if update.callback_query is not None:
                    await self._try(update.callback_query.answer())
                self._offset = update.update_id + 1

    async def send_text(self, chat: str, text: str, *, key: str, choices: tuple[str, ...] = ()) -> str:
        buttons = [InlineKeyboardButton(one, callback_data=one[:64]) for one in choices]
        markup = InlineKeyboardMarkup([buttons]) if buttons else None
        sent = await self._send(self._bot.send_message(chat, text, reply_markup=markup))
        return str(sent.message_id)

    async def send_media(self, chat: str, data: bytes, type: str, name: str, caption: str, key: str) -> str:
        file = InputFile(BytesIO(data), filename=name)
        text = caption[:1024] or None
        match type.partition("/")[0]:
            case "image" if type != "image/gif":
                sending = self._bot.send_photo(chat, file, text)
            case "audio" if type == "audio/ogg":
                sending = self._bot.send_voice(chat, file, caption=text)
            case "audio":
                sending = self._bot.send_audio(chat, file, caption=text)
            case "video":
                sending = self._bot.send_video(chat, file, caption=text)
            case _:
                sending = self._bot.send_document(chat, file, caption=text)
        return str((await self._send(sending)).message_id)

    async def fetch(self, file: ChatFile) -> ChatFile:
        try:
            found = await self._bot.get_file(file.token)
            if (found.file_size or 0) > MAX_DOWNLOAD_BYTES:
                raise ChannelRejected("it is larger than 20 MB")
            data = bytes(await found.download_as_bytearray())
        except TelegramError as error:
            raise ChannelRejected(str(error)) from None
        return self._downloads.keep(data, found.file_path or "")

    async def typing(self, chat: str, on: bool) -> None:
        if on:
            await self._try(self._bot.send_chat_action(chat, "typing"))

    async def close(self) -> None:
        await self._try(self._bot.shutdown())
        await self._http.close()

    def _read(self, update: Update) -> InboundMessage | None:
        """A message of a user, or a button that they pressed; what channels and bots post is not for us."""
        message, sender, body = update.message, update.effective_user, ""
        query = update.callback_query
        if query is not None and isinstance(query.message, Message):
            message, body = query.message, query.data or ""
        elif message is not None:
            body = message.text or message.caption or ""
        if message is None or sender is None or sender.is_bot:
            return None
        group = message.chat.type != "private"
        replied = message.reply_to_message.from_user if message.reply_to_message else None
        is_reply = replied is not None and replied.id == self._bot.id
        return InboundMessage(
            channel=self.name,
            account=str(self._bot.id),
            id=f"update-{update.update_id}",
            chat=str(message.chat_id),
            sender=str(sender.id),  # a name can change hands
            body=body,
            sender_name=sender.full_name,
            is_group=group,
            group_name=message.chat.title or "",
            mentioned=is_reply or query is not None or f"@{self._bot.username}".lower() in body.lower(),
            files=() if query else tuple(_files(message)),
            sent_ms=now_ms() if query else int(message.date.timestamp() * 1000),
        )

    async def _send(self, sending: Any) -> Message:
        try:
            sent: Message = await sending
        except RetryAfter as error:
            wait = error.retry_after
            seconds = wait if isinstance(wait, int) else wait.total_seconds()
            raise ChannelDown("Telegram asked to send less.", wait_s=seconds) from None
        except (BadRequest, Forbidden, ChatMigrated, InvalidToken) as error:
            raise ChannelRejected(f"Telegram refused a message: {error.message}.") from None
        except TelegramError as error:
            if isinstance(error.__cause__, httpx.ConnectError | httpx.ConnectTimeout):
                raise ChannelDown("Telegram cannot be reached.") from None
            raise TauError(f"Telegram did not confirm a message: {error.message}.") from None
        return sent

    async def _try(self, sending: Any) -> None:
        """Do what may fail, such as a typing signal."""
        try:
            await sending
        except TelegramError as error:
            self._log.write("debug", "telegram", str(error))

    async def _pause(self, error: TelegramError, started: float) -> None:
        """Raises TauError after the last attempt."""
        wait_s = self._backoff.next_s(time.monotonic() - started)
        self._log.write("warn", "telegram", "not connected", reason=str(error))
        if wait_s is None:
            raise TauError("Telegram could not be reached; the relay stops trying.")
        await asyncio.sleep(wait_s)


def _files(message: Message) -> list[ChatFile]:
    photo = message.photo[-1:]
    others = (message.voice, message.audio, message.video, message.document, message.sticker)
    return [
        ChatFile(token=one.file_id, type=getattr(one, "mime_type", None) or "")
        for one in (*photo, *others)
        if one is not None
    ]

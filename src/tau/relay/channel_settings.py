"""The part of relay.json that describes accounts on channels."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct


def about(description: str, **limits: Any) -> Meta:
    """Describes a key."""
    return Meta(description=description, **limits)


SECRET = "the secret itself, the name of a variable, or !command"


class XmppSettings(Struct, frozen=True, rename="camel"):
    jid: Annotated[str, about("Account of the relay, such as bot@example.org")] = ""
    password: Annotated[str, about(f"Its password: {SECRET}")] = ""
    server: Annotated[str, about("HOST:PORT, if DNS does not name it; remote ones need TLS")] = ""
    ca_file: Annotated[str, about("Certificates to trust besides those of the system")] = ""
    rooms: Annotated[tuple[str, ...], about("Rooms to join, such as team@rooms.example.org")] = ()
    nick: Annotated[str, about("Name in rooms; by default that of the account")] = ""


class TelegramSettings(Struct, frozen=True, rename="camel"):
    token: Annotated[str, about(f"Token of the bot: {SECRET}")] = ""
    api_url: Annotated[str, about("Address of the Bot API")] = "https://api.telegram.org"


class TwilioSettings(Struct, frozen=True, rename="camel"):
    account_sid: Annotated[str, about("Account SID, or the name of a variable")] = "TWILIO_ACCOUNT_SID"
    auth_token: Annotated[str, about(f"Auth token, also for signatures: {SECRET}")] = "TWILIO_AUTH_TOKEN"
    api_key: Annotated[str, about("API key for requests instead of the auth token")] = "TWILIO_API_KEY"
    api_secret: Annotated[str, about(f"Its secret: {SECRET}")] = "TWILIO_API_SECRET"
    number: Annotated[str, about("Own number, such as whatsapp:+15550001111")] = "TWILIO_WHATSAPP_FROM"
    mode: Annotated[Literal["webhook", "poll"], about("How messages arrive")] = "webhook"
    public_url: Annotated[str, about("Address of the webhook server as Twilio sees it, or tailscale")] = ""
    port: Annotated[int, about("Port of the webhook server", ge=1, le=65535)] = 42873
    path: Annotated[str, about("Path of the webhook")] = "/webhook/whatsapp"
    poll_seconds: Annotated[int, about("Time between polls", ge=1)] = 5
    api_url: Annotated[str, about("Address of the REST API")] = "https://api.twilio.com"
    messaging_url: Annotated[str, about("Address of the messaging API")] = "https://messaging.twilio.com"


class WhatsAppSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, about("Answer on WhatsApp Web; log in with tau relay login")] = False

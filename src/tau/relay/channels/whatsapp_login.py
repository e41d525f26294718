"""Links this machine as a device of a WhatsApp account."""

import asyncio
from collections.abc import Callable

import segno
from neonize.events import ConnectedEv

from tau.base.errors import TauError
from tau.relay.channels.whatsapp import new_client
from tau.relay.config import RelayHome

LOGIN_S = 180


async def log_in(home: RelayHome, phone: str, show: Callable[[str], object]) -> None:
    """Show a QR code, or a code to type for `phone`, until the phone has accepted it. Raises TauError."""
    client = new_client(home)
    linked: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def on_qr(_: object, data: bytes) -> None:
        if phone:
            show(f"Type this code on the phone: {await client.PairPhone(phone.lstrip('+'), True)}")
        else:
            lines = [
                "".join("██" if not dark else "  " for dark in row)
                for row in segno.make_qr(data).matrix_iter()
            ]
            show("Scan this in WhatsApp under Linked devices:\n" + "\n".join(lines))

    async def on_connected(*_: object) -> None:
        if not linked.done():
            linked.set_result(None)

    client.event.qr(on_qr)
    client.event(ConnectedEv)(on_connected)
    try:
        connection = await client.connect()
        async with asyncio.timeout(LOGIN_S):
            done, _ = await asyncio.wait([connection, linked], return_when=asyncio.FIRST_COMPLETED)
        if linked not in done:
            raise TauError(f"WhatsApp cannot be reached: {connection.exception()}.")
        await asyncio.sleep(5)  # the phone sends keys right after linking
    except TimeoutError:
        raise TauError("The phone did not accept in time; try again.") from None
    finally:
        await client.stop()

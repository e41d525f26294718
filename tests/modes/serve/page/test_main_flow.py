"""The page as a person uses it: ask, watch, approve, undo, stop, leave and come back."""

from playwright.sync_api import BrowserContext, Page, expect

from tests.modes.serve.page.page_site import Site, send, start_session
from tests.support.fake_answers import Answer, Call, Silence, Text

MESSAGES = ".item:is([data-role=user], [data-role=assistant])"
HALF = Answer((Text("The **first** half. " * 20, deltas=40),))


def test_prompt_streams_and_becomes_the_rendered_answer(page: Page, site: Site) -> None:
    assert "token" not in page.url
    start_session(page)
    site.tau.script("Here is **bold** and `code`.")
    send(page, "Say something")
    expect(page.locator(".item[data-role=user] .typed")).to_have_text("Say something")
    expect(page.locator(".item[data-role=assistant] strong")).to_have_text("bold")
    expect(page.locator("#stop")).to_be_hidden()
    expect(page.locator(".live")).to_be_empty()


def test_half_an_answer_is_rendered_survives_a_reload_and_is_kept_when_stopped(
    page: Page, site: Site
) -> None:
    start_session(page)
    site.tau.script(Silence(after_events=25, of=HALF))
    send(page, "Tell me a long story")
    expect(page.locator(".live strong").first).to_have_text("first")
    expect(page.locator("#activity-text")).to_have_text("Writing")
    page.fill("#prompt", "and a draft")
    page.reload()
    expect(page.locator(".live strong").first).to_have_text("first")
    expect(page.locator("#prompt")).to_have_value("and a draft")
    page.click("#stop")
    expect(page.locator(".item .error")).to_have_text("Stopped by the user.")
    expect(page.locator(".item[data-role=assistant] strong").first).to_have_text("first")
    expect(page.locator(".live")).to_be_empty()
    expect(page.locator("#activity")).to_be_hidden()


def test_write_is_approved_shown_as_change_and_undone(page: Page, site: Site) -> None:
    start_session(page)
    site.tau.script(Answer((Call("write", {"path": "made.txt", "content": "one\ntwo\n"}),)), "Written.")
    send(page, "Write a file")
    question = page.locator(".question")
    expect(question.locator("h2")).to_have_text("Allow this write?")
    expect(question).to_contain_text("two")
    expect(question.locator(".answers button")).to_have_count(5)
    assert page.title().startswith("(!)")
    question.get_by_role("button", name="Allow once").click()
    expect(question).to_have_count(0)
    expect(page.locator("#change-count")).to_have_text("1")
    assert (site.project / "made.txt").read_text() == "one\ntwo\n"
    page.click("#panel-button")
    page.click("#files summary")
    expect(page.locator("#files .diff .a").last).to_have_text("+two")
    page.click("#undo")
    expect(page.locator(".toast")).to_contain_text("Undone")
    expect(page.locator("#no-changes")).to_be_visible()
    assert not (site.project / "made.txt").exists()
    page.click("#redo")
    expect(page.locator("#files li")).to_have_count(1)
    assert (site.project / "made.txt").exists()


def test_refusal_tells_the_agent_why(page: Page, site: Site) -> None:
    start_session(page)
    site.tau.script(Answer((Call("bash", {"command": "touch no.txt"}),)), "Understood.")
    send(page, "Run it")
    page.get_by_role("button", name="No, and tell the agent why").click()
    page.get_by_label("Why not").fill("not in this folder")
    page.get_by_role("button", name="Decline").click()
    expect(page.locator(".item[data-role=assistant]").last).to_contain_text("Understood.")
    assert "not in this folder" in str(site.tau.server.requests[-1].body["messages"][-1])
    assert not (site.project / "no.txt").exists()


def test_long_request_cannot_be_allowed_before_its_end_was_shown(page: Page, site: Site) -> None:
    start_session(page)
    command = "\n".join(f"echo {number}" for number in range(200))
    site.tau.script(Answer((Call("bash", {"command": command}),)), "Done.")
    send(page, "Run it")
    allow = page.get_by_role("button", name="Allow once")
    allow.click()
    expect(page.locator(".question .hint").last).to_contain_text("Scroll to the end")
    page.locator(".request").evaluate("box => box.scrollTop = box.scrollHeight")
    allow.click()
    expect(page.locator(".question")).to_have_count(0)
    expect(page.locator(".item[data-role=assistant]").last).to_contain_text("Done.")


def test_question_answered_in_one_tab_closes_in_the_other(
    page: Page, site: Site, context: BrowserContext
) -> None:
    start_session(page)
    site.tau.script(Answer((Call("bash", {"command": "echo hi"}),)), "Done.")
    send(page, "Run it")
    expect(page.locator(".question")).to_be_visible()
    other = context.new_page()
    other.goto(page.url)
    other.get_by_role("button", name="Allow once").click()
    expect(page.locator(".question")).to_have_count(0)
    expect(other.locator(".item[data-role=assistant]").last).to_contain_text("Done.")
    expect(page.locator(".item[data-role=assistant]").last).to_contain_text("Done.")


def test_queued_messages_are_shown_and_can_be_edited(page: Page, site: Site) -> None:
    start_session(page)
    site.tau.script(Silence(after_events=4, of=HALF))
    send(page, "Work")
    expect(page.locator("#send-label")).to_have_text("Steer")
    send(page, "Rather do this")
    expect(page.locator("#queue li")).to_have_text(["nextRather do this"])
    page.fill("#prompt", "Then that")
    page.press("#prompt", "Alt+Enter")
    expect(page.locator("#queue li")).to_have_text(["nextRather do this", "laterThen that"])
    page.click("#queue button")
    expect(page.locator("#prompt")).to_have_value("Rather do this\n\nThen that")
    expect(page.locator("#queue")).to_be_hidden()
    page.press("#prompt", "Escape")
    expect(page.locator("#stop")).to_be_hidden()


def test_lost_connection_resumes_without_loss_or_repetition(
    page: Page, site: Site, context: BrowserContext
) -> None:
    start_session(page)
    site.tau.script("First.", "Second.")
    send(page, "One")
    expect(page.locator(MESSAGES)).to_have_count(2)
    context.set_offline(True)
    expect(page.locator("#connection")).not_to_have_text("Connected")
    site.command(page, "prompt", message="Two")
    context.set_offline(False)
    expect(page.locator("#connection")).to_have_text("Connected")
    expect(page.locator(MESSAGES)).to_have_count(4)
    expect(page.locator(".item[data-role=assistant] p").last).to_have_text("Second.")


def test_files_and_commands_are_completed(page: Page, site: Site) -> None:
    (site.project / "src").mkdir()
    (site.project / "src" / "cart.py").write_text("x = 1\n")
    start_session(page)
    page.locator("#prompt").press_sequentially("look at @cart")
    expect(page.locator("#completions li")).to_have_text(["src/cart.py"])
    page.press("#prompt", "Tab")
    expect(page.locator("#prompt")).to_have_value("look at @src/cart.py ")
    page.fill("#prompt", "/comp")
    expect(page.locator("#completions li span")).to_have_text(["/compact"])


def test_pasted_image_reaches_the_model(page: Page, site: Site) -> None:
    start_session(page)
    site.tau.script("A dot.")
    page.evaluate(
        """async () => {
          const canvas = new OffscreenCanvas(2, 2);
          canvas.getContext('2d').fillRect(0, 0, 1, 1);
          const blob = await canvas.convertToBlob();
          const data = new DataTransfer();
          data.items.add(new File([blob], 'dot.png', { type: 'image/png' }));
          const paste = new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true });
          document.querySelector('#prompt').dispatchEvent(paste);
        }"""
    )
    expect(page.locator("#images img")).to_have_count(1)
    send(page, "What is this?")
    expect(page.locator(".item[data-role=user] img")).to_have_count(1)
    expect(page.locator("#images")).to_be_hidden()
    assert "image_url" in str(site.tau.server.requests[-1].body["messages"])


def test_fork_continues_in_a_copy_with_the_message_in_the_prompt(page: Page, site: Site) -> None:
    session = start_session(page)
    site.tau.script("First.", "Second.")
    send(page, "One")
    expect(page.locator(MESSAGES)).to_have_count(2)
    send(page, "Two")
    expect(page.locator(MESSAGES)).to_have_count(4)
    page.locator(".fork-here").last.click()
    page.wait_for_url(lambda url: "#/s/" in url and session not in url)
    expect(page.locator("#prompt")).to_have_value("Two")
    expect(page.locator(MESSAGES)).to_have_count(2)


def test_mode_model_and_name_are_changed(page: Page, site: Site) -> None:
    start_session(page)
    page.select_option("#mode", "plan")
    page.click("#menu summary")
    page.click("#rename")
    page.get_by_role("textbox", name="Name").fill("The money session")
    page.press("dialog input[aria-label=Name]", "Enter")
    expect(page.locator("#session-title")).to_have_text("The money session")
    page.reload()
    expect(page.locator("#mode")).to_have_value("plan")
    expect(page.locator("#model")).to_have_value("fake/fake-model")


def test_wrong_token_asks_for_the_right_one(context: BrowserContext, site: Site) -> None:
    page = context.new_page()
    page.goto(f"{site.base}/#token={'0' * 64}")
    expect(page.locator("#sign-in")).to_be_visible()
    page.fill("#token", site.address)
    page.press("#token", "Enter")
    expect(page.locator("#sign-in")).to_be_hidden()
    expect(page.locator("#new-session")).to_be_visible()

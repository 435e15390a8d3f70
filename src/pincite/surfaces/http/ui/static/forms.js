// Ctrl+Enter (Cmd+Enter) in a text of several lines sends its form, as its button does.
for (const text of document.querySelectorAll("textarea"))
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing || event.repeat) return;
    event.preventDefault();
    text.form.querySelector("button:not([type=button])").click();
  });
// Says that a form is being worked on, so that nobody sends it twice.
for (const form of document.querySelectorAll("form[data-busy]"))
  form.addEventListener("submit", () => {
    const button = form.querySelector("button");
    button.disabled = true;
    button.textContent = form.dataset.busy;
    button.setAttribute("aria-live", "polite");
  });
addEventListener("pageshow", (event) => event.persisted && location.reload());

// Says that a form is being worked on, so that nobody sends it twice.
for (const form of document.querySelectorAll("form[data-busy]"))
  form.addEventListener("submit", () => {
    const button = form.querySelector("button");
    button.disabled = true;
    button.textContent = form.dataset.busy;
    button.setAttribute("aria-live", "polite");
  });
addEventListener("pageshow", (event) => event.persisted && location.reload());

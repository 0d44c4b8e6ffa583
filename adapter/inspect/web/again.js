// Buttons that copy programs.
import { element } from "./live.js";

for (const pre of document.querySelectorAll("[data-copy]")) {
  const button = element("button", { type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(pre.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(pre);
      button.textContent = "Selected";
    }
  });
  pre.before(button);
}

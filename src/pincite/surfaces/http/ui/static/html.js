// Preact with tagged templates instead of a compiler: https://preactjs.com, https://github.com/developit/htm
import { h, render } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

export const html = htm.bind(h);
export { render };

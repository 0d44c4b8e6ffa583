// The button that copies the link to a comparison.
import { copying } from "./live.js";

copying(document.getElementById("link"));

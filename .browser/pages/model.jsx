// For clients that are no hooks: an object that is shown again whenever it changes.
import { useEffect, useState } from "react";

/** Gives the model and how to change it; begin, if any, is called once, with how to change it. */
export function useModel(model, begin) {
  const [, show] = useState(0);
  const changed = (more) => {
    Object.assign(model, more);
    show((n) => n + 1);
  };
  useEffect(() => void begin?.(changed), []);
  return [model, changed];
}

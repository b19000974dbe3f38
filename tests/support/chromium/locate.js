// Finds what `target` names and answers the middle of its visible part, or a sentence saying why it cannot be clicked.
(target) => {
  const TEXT = "text=";
  const clickable = "a[href],button,input,select,textarea,summary,label,option,[role],[tabindex],[onclick]";

  const name = (el) => (el.getAttribute("aria-label") ?? el.innerText ?? "").trim();
  const shown = (el) => el.checkVisibility({ visibilityProperty: true, opacityProperty: true });

  const byText = (scope, text) => {
    const all = [...document.querySelectorAll(scope)].flatMap((root) => [...root.querySelectorAll("*")]);
    const visible = all.filter(shown);
    for (const fits of [(el) => name(el) === text, (el) => name(el).includes(text)]) {
      const found = visible.filter(fits);
      const pressable = found.filter((el) => el.matches(clickable));
      const from = pressable.length ? pressable : found;
      // The innermost: no other candidate inside it.
      const innermost = from.find((el) => !from.some((other) => other !== el && el.contains(other)));
      if (innermost) return innermost;
    }
    return null;
  };

  const at = target.indexOf(TEXT);
  const found = at < 0
    ? [...document.querySelectorAll(target)]
    : [byText(target.slice(0, at).trim() || "body", target.slice(at + TEXT.length))].filter(Boolean);
  const el = found.find(shown);
  if (!el) return found.length ? "it is not visible" : "no such element";
  if (el.matches(":disabled,[aria-disabled=true]")) return "it is disabled";

  const inView = (r) => r.top >= 0 && r.left >= 0 && r.bottom <= innerHeight && r.right <= innerWidth;
  if (!inView(el.getBoundingClientRect())) el.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
  const box = el.getBoundingClientRect();
  const left = Math.max(box.left, 0), right = Math.min(box.right, innerWidth);
  const top = Math.max(box.top, 0), bottom = Math.min(box.bottom, innerHeight);
  if (right <= left || bottom <= top) return "it has no area inside the viewport";
  const x = (left + right) / 2, y = (top + bottom) / 2;
  const hit = document.elementFromPoint(x, y);
  const ours = hit && (el.contains(hit) || hit.contains(el) && hit.matches("label,button,a") || hit.closest("label")?.control === el);
  if (!ours) return `it is covered by ${hit?.outerHTML.slice(0, 120) ?? "nothing"}`;
  return { x, y };
}

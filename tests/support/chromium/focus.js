// Describes the focused element and tells if its focus is visible; null if the focus has left the page.
() => {
  const el = document.activeElement;
  if (!el || el === document.body || el === document.documentElement) return null;
  const style = getComputedStyle(el);
  const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== "none";
  const name = (el.getAttribute("aria-label") ?? el.innerText ?? "").trim().replace(/\s+/g, " ").slice(0, 60);
  const id = el.id ? "#" + el.id : "";
  return `${el.tagName.toLowerCase()}${id} "${name}"${ring ? "" : " (no visible focus)"}`;
}

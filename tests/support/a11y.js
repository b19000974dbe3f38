// Accessibility checks of a page as it stands now: answers one sentence for each violation.
//
// Rules: WCAG 2.2 AA where a program can decide, and the house's own (touch targets of 40 px on narrow screens).
// Cases that a program cannot decide, such as text over a picture, are skipped.
() => {
  const NARROW = 400; // px: at most this wide, targets must fit a finger
  const TARGET = 40; // px
  const ROUNDING = 0.5; // px: layout rounds

  const found = new Set();
  const report = (el, what) => found.add(`${describe(el)}: ${what}`);
  const describe = (el) => {
    const id = el.id ? `#${el.id}` : [...el.classList].slice(0, 2).map((c) => `.${c}`).join("");
    const text = (el.textContent ?? "").trim().replace(/\s+/g, " ").slice(0, 40);
    return `<${el.localName}${id}>${text ? ` "${text}"` : ""}`;
  };
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const shown = (el) => el.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const exposed = (el) => shown(el) && !el.closest("[aria-hidden=true],[inert]");
  const byIds = (ids) => ids.trim().split(/\s+/).map((id) => document.getElementById(id)).filter(Boolean);

  // --- Names -------------------------------------------------------------------------------------------------

  /** The text an assistive tool would read for a subtree. */
  const content = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (node.nodeType !== Node.ELEMENT_NODE) return "";
    if (node.getAttribute("aria-hidden") === "true" || !shown(node) && node.localName !== "title") return "";
    const own = node.getAttribute("aria-label") ?? node.getAttribute("alt");
    if (own?.trim()) return own;
    if (node.localName === "svg") return node.querySelector(":scope > title")?.textContent ?? "";
    return [...node.childNodes].map(content).join(" ");
  };
  const NAMED_BY_CONTENT =
    "a,button,summary,option,legend,td,th,[role=button],[role=link],[role=tab],[role=menuitem],[role=menuitemcheckbox],[role=menuitemradio]," +
    "[role=option],[role=checkbox],[role=radio],[role=switch],[role=treeitem],[role=gridcell],[role=cell],[role=columnheader],[role=rowheader],[role=row]";
  const name = (el) => {
    const labelled = el.getAttribute("aria-labelledby");
    const candidates = [
      labelled && byIds(labelled).map((l) => l.getAttribute("aria-label") ?? l.textContent).join(" "),
      el.getAttribute("aria-label"),
      el.labels && [...el.labels].map(content).join(" "),
      el.matches("img,area,input[type=image]") && el.getAttribute("alt"),
      el.matches("input[type=submit],input[type=button],input[type=reset]") && el.value,
      el.matches(NAMED_BY_CONTENT) && content(el),
      el.getAttribute("title"),
    ];
    return candidates.find((c) => c && c.trim())?.trim() ?? "";
  };

  const WIDGETS =
    "a[href],button,input:not([type=hidden]),select,textarea,summary,[contenteditable=true],[contenteditable=''],[contenteditable=plaintext-only]," +
    "[role=button],[role=link],[role=tab],[role=menuitem],[role=menuitemcheckbox],[role=menuitemradio],[role=option],[role=checkbox]," +
    "[role=radio],[role=switch],[role=slider],[role=spinbutton],[role=combobox],[role=textbox],[role=searchbox],[role=listbox]," +
    "[role=tree],[role=treeitem],[role=grid],[role=treegrid],[role=tablist],[role=menu],[role=toolbar],[role=progressbar]," +
    "[role=separator][tabindex],[role=region],[role=meter]";
  const names = () => {
    for (const el of all(WIDGETS).filter(exposed)) {
      if (!name(el)) report(el, el.matches("input,select,textarea") ? "a field without a label" : "has no accessible name");
    }
    for (const el of all("[tabindex='0']").filter(exposed)) {
      const passive = !el.matches(WIDGETS) && !el.hasAttribute("role") && !el.matches("iframe,audio,video,dialog");
      if (passive && !name(el)) report(el, "takes the focus but has neither a role nor a name");
    }
    for (const el of all("iframe").filter(exposed)) if (!el.title && !name(el)) report(el, "a frame without a title");
  };

  // --- Roles -------------------------------------------------------------------------------------------------

  const ROLES = new Set((
    "alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox complementary " +
    "contentinfo definition deletion dialog directory document emphasis feed figure form generic grid gridcell group heading img image " +
    "insertion link list listbox listitem log main mark marquee math menu menubar menuitem menuitemcheckbox menuitemradio meter " +
    "navigation none note option paragraph presentation progressbar radio radiogroup region row rowgroup rowheader scrollbar search " +
    "searchbox separator slider spinbutton status strong subscript suggestion superscript switch tab table tablist tabpanel term " +
    "textbox time timer toolbar tooltip tree treegrid treeitem").split(" "));
  const REQUIRED = {
    checkbox: ["aria-checked"], radio: ["aria-checked"], switch: ["aria-checked"],
    menuitemcheckbox: ["aria-checked"], menuitemradio: ["aria-checked"],
    combobox: ["aria-expanded"], slider: ["aria-valuenow"], scrollbar: ["aria-valuenow", "aria-controls"],
    heading: ["aria-level"], meter: ["aria-valuenow"], tab: ["aria-selected"],
  };
  const PARENTS = {
    tab: "[role=tablist]", option: "[role=listbox],[role=group],select,datalist", treeitem: "[role=tree],[role=group]",
    menuitem: "[role=menu],[role=menubar],[role=group]", menuitemcheckbox: "[role=menu],[role=menubar],[role=group]",
    menuitemradio: "[role=menu],[role=menubar],[role=group]", listitem: "[role=list],ul,ol",
    row: "[role=grid],[role=table],[role=treegrid],[role=rowgroup],table", gridcell: "[role=row],tr", cell: "[role=row],tr",
    columnheader: "[role=row],tr", rowheader: "[role=row],tr",
  };
  const owned = (el, parents) =>
    el.parentElement?.closest(parents) ?? all("[aria-owns]").find((o) => o.matches(parents) && byIds(o.getAttribute("aria-owns")).includes(el));
  const roles = () => {
    for (const el of all("[role]").filter(exposed)) {
      const role = el.getAttribute("role").trim().split(/\s+/)[0];
      if (!ROLES.has(role)) { report(el, `role "${role}" does not exist`); continue; }
      for (const state of REQUIRED[role] ?? []) {
        const native = state === "aria-checked" && el.matches("input") || role === "heading" && /^h[1-6]$/.test(el.localName);
        if (!native && !el.hasAttribute(state)) report(el, `role ${role} needs ${state}`);
      }
      if (role === "separator" && el.tabIndex >= 0 && !el.hasAttribute("aria-valuenow")) report(el, "a movable separator needs aria-valuenow");
      if (PARENTS[role] && !owned(el, PARENTS[role])) report(el, `role ${role} stands outside of ${PARENTS[role]}`);
      if (role === "img" && !name(el)) report(el, "a picture without a name");
    }
    for (const el of all("li").filter(exposed)) if (!el.parentElement.matches("ul,ol,menu,[role=list]")) report(el, "a list item outside of a list");
  };

  const REFERENCES = ["aria-labelledby", "aria-describedby", "aria-activedescendant", "aria-owns", "aria-errormessage", "aria-details"];
  const references = () => {
    for (const attribute of REFERENCES) {
      for (const el of all(`[${attribute}]`).filter(exposed)) {
        for (const id of el.getAttribute(attribute).trim().split(/\s+/).filter(Boolean)) {
          if (!document.getElementById(id)) report(el, `${attribute} names "${id}", which does not exist`);
        }
      }
    }
    for (const el of all("label[for]").filter(shown)) if (!document.getElementById(el.htmlFor)) report(el, `a label for "${el.htmlFor}", which does not exist`);
    const seen = new Set();
    for (const el of all("[id]")) {
      if (seen.has(el.id)) report(el, `the id "${el.id}" occurs twice`);
      seen.add(el.id);
    }
  };

  // --- Focus and structure -----------------------------------------------------------------------------------

  const FOCUSABLE = "a[href],button:enabled,input:enabled:not([type=hidden]),select:enabled,textarea:enabled,summary,[tabindex],[contenteditable=true]";
  const structure = () => {
    for (const el of all("[tabindex]")) if (el.tabIndex > 0) report(el, `a positive tabindex (${el.tabIndex})`);
    for (const el of all("[aria-hidden=true]")) {
      const inside = [el, ...all(FOCUSABLE, el)].filter((e) => e.matches(FOCUSABLE) && e.tabIndex >= 0 && shown(e) && !e.closest("[inert]"));
      if (inside.length) report(inside[0], "can take the focus but is hidden from assistive tools");
    }
    for (const el of all("button,a[href],[role=button],[role=link],[role=checkbox],[role=switch],[role=menuitem],[role=option]").filter(exposed)) {
      const inner = all(FOCUSABLE, el).find((e) => e.tabIndex >= 0 && shown(e));
      if (inner) report(el, `holds another control: ${describe(inner)}`);
    }
    for (const el of all("dialog[open],[role=dialog],[role=alertdialog]").filter(exposed)) {
      if (!name(el)) report(el, "a dialog without a name");
      if (!el.matches("dialog:modal") && el.getAttribute("aria-modal") === null && !el.popover) report(el, "a dialog that does not say whether it is modal");
    }
    for (const el of all("img").filter(exposed)) if (!el.hasAttribute("alt")) report(el, "a picture without alt");
    for (const el of all("svg").filter(exposed)) {
      const loose = !el.closest("a,button,summary,label,[role=button],[role=tab],[role=menuitem],[role=option],[role=img]");
      if (loose && !name(el) && !content(el).trim() && !el.querySelector("text")) report(el, "a drawing that is neither named nor hidden (aria-hidden)");
    }
    const root = document.documentElement;
    if (!root.lang) report(root, "the page does not say its language");
    if (!document.title.trim()) report(root, "the page has no title");
    if (all("main,[role=main]").filter(shown).length !== 1) report(root, "the page needs exactly one main landmark");
  };

  // --- Contrast ----------------------------------------------------------------------------------------------

  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const cache = new Map();
  /** [r, g, b, alpha] of any CSS colour. */
  const rgba = (css) => {
    if (cache.has(css)) return cache.get(css);
    const plain = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(css);
    let colour = plain && [+plain[1], +plain[2], +plain[3], +(plain[4] ?? 1)];
    if (!colour) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = css;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      colour = [r, g, b, a / 255];
    }
    cache.set(css, colour);
    return colour;
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((c, i) => c * a + below[i] * (1 - a));
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const CANVAS = matchMedia("(prefers-color-scheme: dark)").matches && getComputedStyle(document.documentElement).colorScheme.includes("dark")
    ? [18, 18, 18] : [255, 255, 255];
  /** Background of an element's text, and opacity of the text; null if there is a picture. */
  const behind = (el) => {
    const layers = [];
    let opacity = 1;
    for (let at = el; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.backgroundImage !== "none") return null;
      opacity *= +style.opacity;
      const colour = rgba(style.backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    const backdrop = layers.reverse().reduce((below, colour) => over(colour, below), CANVAS);
    return { backdrop, opacity };
  };
  const check = (el, style, what) => {
    const base = behind(el);
    const colour = rgba(style.color);
    if (!base || colour[3] === 0) return;
    const text = over([...colour.slice(0, 3), colour[3] * base.opacity], base.backdrop);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && +style.fontWeight >= 700);
    const needed = large ? 3 : 4.5;
    const reached = ratio(text, base.backdrop);
    if (reached < needed) {
      const hex = (rgb) => "#" + rgb.map((c) => Math.round(c).toString(16).padStart(2, "0")).join("");
      report(el, `${what} contrast ${reached.toFixed(2)} (${hex(text)} on ${hex(base.backdrop)}), needs ${needed}`);
    }
  };
  const disabled = (el) => el.closest(":disabled,[aria-disabled=true]") || el.closest("label")?.control?.disabled;
  const contrast = () => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const checked = new Set();
    while (walker.nextNode()) {
      const el = walker.currentNode.parentElement;
      if (checked.has(el) || !walker.currentNode.data.trim()) continue;
      checked.add(el);
      if (!shown(el) || disabled(el) || el.closest("script,style,noscript,template,option")) continue;
      check(el, getComputedStyle(el), "text");
    }
    for (const el of all("input:not([type=hidden],[type=checkbox],[type=radio],[type=range],[type=color],[type=file]),textarea,select")) {
      if (!shown(el) || disabled(el)) continue;
      if (el.value) check(el, getComputedStyle(el), "value");
      else if (el.placeholder) check(el, getComputedStyle(el, "::placeholder"), "placeholder");
    }
  };

  // --- Narrow screens ----------------------------------------------------------------------------------------

  const TOUCHED =
    "a[href],button,input:not([type=hidden]),select,summary,[role=button],[role=tab],[role=menuitem],[role=menuitemcheckbox]," +
    "[role=menuitemradio],[role=checkbox],[role=radio],[role=switch],[role=option],[role=treeitem],[role=link]";
  const inline = (el) => el.matches("a") && getComputedStyle(el).display === "inline" && el.parentElement.textContent.trim() !== el.textContent.trim();
  /** A field and its label are one target. */
  const reach = (el) => {
    const boxes = [el, ...(el.labels ?? [])].filter(shown).map((e) => e.getBoundingClientRect());
    const edge = (side, pick) => pick(...boxes.map((b) => b[side]));
    return { width: edge("right", Math.max) - edge("left", Math.min), height: edge("bottom", Math.max) - edge("top", Math.min) };
  };
  const narrow = () => {
    const scroller = document.scrollingElement;
    if (scroller.scrollWidth > scroller.clientWidth) {
      const wide = all("body *").filter((el) => shown(el) && el.getBoundingClientRect().right > scroller.clientWidth + ROUNDING);
      report(wide.find((el) => !wide.some((other) => other !== el && other.contains(el))) ?? scroller,
        `makes the page scroll sideways (${scroller.scrollWidth} px in ${scroller.clientWidth})`);
    }
    if (innerWidth > NARROW) return;
    for (const el of all(TOUCHED).filter(exposed)) {
      if (disabled(el) || inline(el)) continue;
      const { width, height } = reach(el);
      if (width < TARGET - ROUNDING || height < TARGET - ROUNDING) {
        report(el, `a target of ${Math.round(width)} x ${Math.round(height)} px, needs ${TARGET} x ${TARGET}`);
      }
    }
  };

  for (const rule of [names, roles, references, structure, contrast, narrow]) rule();
  return [...found];
}

// Searches the documents. Loads the index when the user begins to search, and nothing else from the server.
"use strict";
(() => {
  const MOST = 20;
  const { root } = document.currentScript.dataset;
  const box = document.querySelector("search");
  const [field, list] = box.children;
  let loading;

  const load = () => {
    loading ??= new Promise((loaded, failed) => {
      const script = document.createElement("script");
      script.src = `${root}search-index.js`;
      script.onload = () => loaded(globalThis.heroIndex);
      script.onerror = failed;
      document.head.append(script);
    });
    return loading;
  };

  // The score of a part for one word; 0 if it does not match.
  const fit = (word, heading, title, text) => {
    if (heading === word) return 100;
    if (heading.startsWith(word)) return 40;
    if (heading.includes(word)) return 20;
    if (title.includes(word)) return 8;
    return text.includes(word) ? 1 : 0;
  };

  const find = (index, words) => {
    const found = [];
    for (const [page, title, anchor, heading, text] of index) {
      const lower = [heading, title, text].map((part) => part.toLowerCase());
      const fits = words.map((word) => fit(word, ...lower));
      if (fits.every(Boolean)) {
        // The part about the whole page comes before the parts within it.
        const whole = lower[0] === words.join(" ") ? 200 : 0;
        found.push({ page, title, anchor, heading, text, score: whole + fits.reduce((sum, each) => sum + each, 0) });
      }
    }
    return found.sort((a, b) => b.score - a.score).slice(0, MOST);
  };

  // The text around the first word found in it.
  const around = (text, words) => {
    const lower = text.toLowerCase();
    const at = Math.min(...words.map((word) => lower.indexOf(word)).filter((place) => place >= 0), text.length);
    const from = at > 60 && at < text.length ? at - 40 : 0;
    return `${from ? "…" : ""}${text.slice(from, from + 160)}`;
  };

  const element = (name, text) => {
    const made = document.createElement(name);
    made.textContent = text;
    return made;
  };

  const show = async () => {
    const asked = field.value;
    const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) {
      list.replaceChildren();
      return;
    }
    const index = await load();
    if (field.value !== asked) return;
    const found = find(index, words).map(({ page, title, anchor, heading, text }) => {
      const link = element("a", heading === title ? title : `${heading} · ${title}`);
      link.href = `${root}${page}#${anchor}`;
      link.append(element("small", around(text, words)));
      const item = document.createElement("li");
      item.append(link);
      return item;
    });
    if (found.length === 0) {
      const item = document.createElement("li");
      item.append(element("p", "Nothing has all of these words."));
      found.push(item);
    }
    list.replaceChildren(...found);
  };

  const close = () => list.replaceChildren();

  field.addEventListener("focus", load);
  field.addEventListener("input", show);
  list.addEventListener("click", close);
  box.addEventListener("keydown", (event) => {
    const links = [field, ...list.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    if (next !== undefined) links[Math.max(0, Math.min(next, links.length - 1))].focus();
    else if (event.key === "Enter" && at === 0) links[1]?.click();
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target === field) return;
    event.preventDefault();
    field.focus();
  });
  document.addEventListener("click", (event) => box.contains(event.target) || close());
  box.hidden = false;
})();

// A long table. Only the visible rows are in the page. All rows have the same height, which is measured.

const spare = 20; // rows kept above and below the visible ones

export class Rows {
  /** region scrolls and holds a table; make returns the row of an entry; key its name; more is called near the end. */
  constructor(region, { make, key, more }) {
    Object.assign(this, { region, make, key, more, list: [], from: 0, to: 0, made: new Map() });
    this.body = region.querySelector("tbody");
    region.classList.add("virtual");
    this.measure();
    region.addEventListener("scroll", () => this.show(), { passive: true });
    addEventListener("resize", () => { this.measure(); this.show(true); });
    region.addEventListener("keydown", (event) => this.move(event));
  }

  /** Narrow windows have higher rows. */
  measure() {
    this.height = this.body.querySelector("tr:not(.gap)")?.getBoundingClientRect().height || 40;
  }

  /** The entries, all of them in order. whole says that none is missing at the end. */
  set(list, whole) {
    this.list = list;
    this.made.clear();
    this.region.querySelector("table").setAttribute("aria-rowcount", whole ? String(list.length + 1) : "-1");
    this.show(true);
  }

  /** Draws what is in sight. */
  show(anew = false) {
    const head = this.region.querySelector("thead").offsetHeight;
    const first = Math.floor(Math.max(0, this.region.scrollTop - head) / this.height);
    const from = Math.max(0, first - spare);
    const to = Math.min(this.list.length, first + Math.ceil(this.region.clientHeight / this.height) + spare);
    if (to > this.list.length - spare) this.more();
    if (!anew && from === this.from && to === this.to) return;
    Object.assign(this, { from, to });
    const held = this.body.contains(document.activeElement) ? document.activeElement.closest("tr").dataset.row : undefined;
    const rows = this.list.slice(from, to).map((entry, i) => this.row(entry, from + i));
    this.body.replaceChildren(this.gap(from), ...rows, this.gap(this.list.length - to));
    if (held !== undefined) this.hold(held);
  }

  row(entry, i) {
    const name = this.key(entry);
    let row = this.made.get(name);
    if (!row) {
      row = this.make(entry);
      row.dataset.row = name;
      this.made.set(name, row);
    }
    row.setAttribute("aria-rowindex", String(i + 2));
    return row;
  }

  gap(rows) {
    const row = document.createElement("tr");
    row.className = "gap";
    row.hidden = rows === 0;
    row.setAttribute("aria-hidden", "true");
    row.style.height = `${rows * this.height}px`;
    return row;
  }

  /** Keeps the focus on the row that has it, and else on the table. */
  hold(name) {
    const row = this.made.get(name);
    const link = row?.isConnected ? row.querySelector("a") : undefined;
    (link ?? this.region).focus({ preventScroll: true });
  }

  /** Arrow keys, Home and End lead from row to row. */
  move(event) {
    const at = document.activeElement?.closest("tr[data-row]")?.dataset.row;
    const here = this.list.findIndex((entry) => this.key(entry) === at);
    const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: this.list.length - 1 }[event.key];
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey || this.list.length === 0) return;
    event.preventDefault();
    this.reveal(Math.min(Math.max(to, 0), this.list.length - 1));
  }

  reveal(i) {
    const head = this.region.querySelector("thead").offsetHeight;
    const top = i * this.height, room = this.region.clientHeight - head - this.height;
    if (top < this.region.scrollTop) this.region.scrollTop = top;
    if (top > this.region.scrollTop + room) this.region.scrollTop = top - room;
    this.show();
    this.made.get(this.key(this.list[i]))?.querySelector("a")?.focus({ preventScroll: true });
  }
}

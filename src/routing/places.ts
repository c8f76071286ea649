/** Calls in flight, by name, where their number is bounded. Holds as many names as there are calls. */
export class Places {
  readonly #taken = new Map<string, number>();

  isFull(name: string, max: number | undefined): boolean {
    return max !== undefined && (this.#taken.get(name) ?? 0) >= max;
  }

  take(name: string): void {
    this.#taken.set(name, (this.#taken.get(name) ?? 0) + 1);
  }

  give(name: string): void {
    const left = (this.#taken.get(name) ?? 0) - 1;
    if (left > 0) this.#taken.set(name, left);
    else this.#taken.delete(name);
  }

  /** How many are taken in all. */
  get taken(): number {
    let sum = 0;
    for (const count of this.#taken.values()) sum += count;
    return sum;
  }
}

/** What processes that share an address tell each other of targets and keys, so that what one found out spares the others. */

/** A target went out or came in again, or a key cools. */
export type Transition = {
  readonly type: 'out' | 'in' | 'cooling';
  /** Of the target or the key, the same in every process. No secret: of a key, its digest. */
  readonly name: string;
  /** How long from now it lasts; 0 for `in`. Relative, because each process has a clock of its own. */
  readonly untilMs: number;
};

export interface TransitionBus {
  /** Tells the other processes, not this one. */
  publish(transition: Transition): void;
  /** `receive` gets what others publish, and at first what still holds of what they did. */
  subscribe(receive: (transition: Transition) => void): void;
}

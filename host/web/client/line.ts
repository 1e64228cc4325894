/** One connection to the host, from its dialling to its loss. A new one is a new line. */
export interface Line {
  send(text: string): void
  /** Hangs up; `lost` is not called any more. */
  close(): void
}

export interface LineListener {
  opened(): void
  received(text: string): void
  /** Once: the line could not be opened, or ended. @param isMoving the host said that it goes away, and another is there */
  lost(isMoving?: boolean): void
}

/** Begins a line. Tests pass their own; the client's is a WebSocket (`dialSocket`). */
export type Dial = (listener: LineListener) => Line

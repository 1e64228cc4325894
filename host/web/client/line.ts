/** One connection to the host. Each reconnect creates a new instance. */
export interface Line {
  send(text: string): void
  /** Closes the connection; `lost` is not called afterwards. */
  close(): void
}

export interface LineListener {
  opened(): void
  received(text: string): void
  /**
   * Called once when the connection has failed or closed.
   * @param isMoving true if the host is stopping and another host takes over
   */
  lost(isMoving?: boolean): void
}

/** Opens a connection. Tests pass their own function; the client uses a WebSocket (`dialSocket`). */
export type Dial = (listener: LineListener) => Line

import type { ReadableLogRecord } from '@opentelemetry/sdk-logs'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'

/**
 * Limits the items that wait in memory for the next batch, and counts those that are dropped. The SDK would drop them
 * without reporting it.
 */
export interface WaitingItems {
  /** @returns false if the queue is full; the item is then counted as dropped */
  take(): boolean
  /** Call this when `count` items have left the queue. */
  given(count: number): void
}

export function createWaitingItems(most: number, leftOut: (count: number) => void): WaitingItems {
  let waiting = 0
  return {
    take() {
      if (waiting < most) {
        waiting += 1
        return true
      }
      leftOut(1)
      return false
    },
    given(count) {
      waiting -= count
    },
  }
}

type Ends = { forceFlush(): Promise<void>; shutdown(): Promise<void> }

/** A span processor with a bounded queue. */
export function boundedSpans<P extends Ends & { onEnd(span: ReadableSpan): void }>(inner: P, waiting: WaitingItems) {
  return {
    onStart() {},
    onEnd(span: ReadableSpan) {
      // The SDK drops unsampled spans on purpose, so don't count them.
      if ((span.spanContext().traceFlags & 1) === 1 && waiting.take()) inner.onEnd(span)
    },
    forceFlush: () => inner.forceFlush(),
    shutdown: () => inner.shutdown(),
  }
}

/** A log record processor with a bounded queue. */
export function boundedRecords<R extends ReadableLogRecord, P extends Ends & { onEmit(record: R): void }>(
  inner: P,
  waiting: WaitingItems,
) {
  return {
    onEmit(record: R) {
      if (waiting.take()) inner.onEmit(record)
    },
    forceFlush: () => inner.forceFlush(),
    shutdown: () => inner.shutdown(),
  }
}

/** An exporter that reports to `waiting` how many items it has received. */
export function countingExporter<T, E extends { export(items: readonly T[], done: never): void }>(
  inner: E,
  waiting: WaitingItems,
): E {
  return {
    ...inner,
    export(items: readonly T[], done: never) {
      waiting.given(items.length)
      inner.export(items, done)
    },
  }
}

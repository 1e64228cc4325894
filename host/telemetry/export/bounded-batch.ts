import type { ReadableLogRecord } from '@opentelemetry/sdk-logs'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'

/**
 * Counts what waits in memory for the next batch. The SDK leaves out what comes over its own bound as well, but tells nobody.
 */
export interface WaitingItems {
  /** @returns false for one that is not taken, which was counted */
  take(): boolean
  /** So many went on. */
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

/** What the SDK has in front of an exporter, for spans. */
export function boundedSpans<P extends Ends & { onEnd(span: ReadableSpan): void }>(inner: P, waiting: WaitingItems) {
  return {
    onStart() {},
    onEnd(span: ReadableSpan) {
      // What is not sampled the SDK leaves out on purpose.
      if ((span.spanContext().traceFlags & 1) === 1 && waiting.take()) inner.onEnd(span)
    },
    forceFlush: () => inner.forceFlush(),
    shutdown: () => inner.shutdown(),
  }
}

/** The same for lines of logs. */
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

/** An exporter that tells what it was given. */
export function tellingExporter<T, E extends { export(items: readonly T[], told: never): void }>(
  inner: E,
  waiting: WaitingItems,
): E {
  return {
    ...inner,
    export(items: readonly T[], told: never) {
      waiting.given(items.length)
      inner.export(items, told)
    },
  }
}

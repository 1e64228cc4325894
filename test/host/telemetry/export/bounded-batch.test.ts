import type { Logger, Tracer } from '@opentelemetry/api'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { AlwaysOffSampler, BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import {
  boundedRecords,
  boundedSpans,
  countingExporter,
  createWaitingItems,
} from '../../../../host/telemetry/export/bounded-batch.ts'

// Uses the SDK as the host does, except for the exporter.

const MOST = 3
/**
 * The batch size exceeds the limit, and the delay is longer than the test. Batches are therefore exported only when the
 * test flushes.
 */
const BATCHING = { maxQueueSize: 2 * MOST, maxExportBatchSize: 2 * MOST, scheduledDelayMillis: 2 ** 30 }

function parts() {
  const state = { exported: 0, leftOut: 0 }
  const waiting = createWaitingItems(MOST, (count) => {
    state.leftOut += count
  })
  const exporter = countingExporter(
    {
      export(items: readonly unknown[], told: (result: { code: number }) => void) {
        state.exported += items.length
        told({ code: 0 })
      },
      forceFlush: async () => {},
      shutdown: async () => {},
    } as never,
    waiting,
  )
  return { state, waiting, exporter }
}

function end(tracer: Tracer, count: number): void {
  for (let span = 0; span < count; span++) tracer.startSpan('a span').end()
}

test('spans: those over the limit are counted, and new ones are accepted after an export', async () => {
  const { state, waiting, exporter } = parts()
  const processor = new BatchSpanProcessor({ ...BATCHING, exporter })
  const provider = new TracerProvider({ spanProcessors: [boundedSpans(processor, waiting)] })
  const tracer = provider.getTracer('test')
  end(tracer, MOST + 2)
  expect(state).toEqual({ exported: 0, leftOut: 2 })
  await provider.forceFlush()
  expect(state).toEqual({ exported: MOST, leftOut: 2 })
  end(tracer, MOST)
  await provider.shutdown()
  expect(state).toEqual({ exported: 2 * MOST, leftOut: 2 })
})

test('spans: unsampled spans are not counted', async () => {
  const { state, waiting, exporter } = parts()
  const processor = new BatchSpanProcessor({ ...BATCHING, exporter })
  const spanProcessors = [boundedSpans(processor, waiting)]
  const provider = new TracerProvider({ sampler: new AlwaysOffSampler(), spanProcessors })
  end(provider.getTracer('test'), 2 * MOST)
  await provider.shutdown()
  expect(state).toEqual({ exported: 0, leftOut: 0 })
})

test('lines: those over the limit are counted, and new ones are accepted after an export', async () => {
  const { state, waiting, exporter } = parts()
  const inner = new BatchLogRecordProcessor({ ...BATCHING, exporter })
  const provider = new LoggerProvider({
    processors: [boundedRecords(inner, waiting)],
  })
  const write = (logger: Logger, count: number) => {
    for (let line = 0; line < count; line++) logger.emit({ body: 'a line' })
  }
  write(provider.getLogger('test'), MOST + 4)
  expect(state).toEqual({ exported: 0, leftOut: 4 })
  await provider.forceFlush()
  write(provider.getLogger('test'), 1)
  await provider.shutdown()
  expect(state).toEqual({ exported: MOST + 1, leftOut: 4 })
})

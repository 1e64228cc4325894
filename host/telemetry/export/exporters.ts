import type { ISerializer } from '@opentelemetry/otlp-transformer'
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics'
import type { BatchQueue, Format } from '../../../base/work/batch-queue.ts'

/** The result codes of the SDK's exporters. */
const SUCCESS = 0
const FAILED = 1

type Done = (result: { code: number }) => void

/**
 * An SDK exporter that writes requests to a queue on disk instead of sending them. The requests therefore survive
 * restarts of the host and outages of the collector.
 */
export function queueExporter<T, R>(
  serializer: ISerializer<T, R>,
  countOf: (items: T) => number,
  format: Format,
  { queue, wake }: { readonly queue: Pick<BatchQueue, 'put'>; readonly wake: () => void },
) {
  let last: Promise<void> = Promise.resolve()
  return {
    export(items: T, done: Done) {
      const body = serializer.serializeRequest(items)
      if (body === undefined) return done({ code: FAILED })
      last = queue.put(body, countOf(items), format).then(() => {
        wake()
        done({ code: SUCCESS })
      })
    },
    forceFlush: () => last,
    shutdown: () => last,
  }
}

export function pointsOf({ scopeMetrics }: ResourceMetrics): number {
  return scopeMetrics.flatMap(({ metrics }) => metrics).reduce((sum, { dataPoints }) => sum + dataPoints.length, 0)
}

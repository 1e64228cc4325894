import { AsyncLocalStorage } from 'node:async_hooks'
import type * as OpenTelemetry from '@opentelemetry/api'
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api'

/** All types of spans and their attributes. None of the values come from browsers or scripts. */
export const SPANS = {
  request: {
    name: 'method and route',
    attributes: [
      'http.request.method',
      'http.route',
      'http.response.status_code',
      'solhost.correlation_id',
      'solhost.port',
    ],
  },
  login: { name: 'login', attributes: ['solhost.solution', 'solhost.mode', 'solhost.result'] },
  sandbox: {
    name: 'sandbox call',
    attributes: ['solhost.solution', 'solhost.entry', 'solhost.outcome', 'solhost.queue_ms', 'solhost.run_ms'],
  },
  client: {
    name: 'client event',
    attributes: ['solhost.solution', 'solhost.entry', 'solhost.outcome', 'solhost.run_ms'],
  },
  plugin: { name: 'plugin request', attributes: ['solhost.binding'] },
  session: { name: 'start session', attributes: [] },
  provider: {
    name: 'provider request',
    attributes: ['server.address', 'http.request.method', 'http.response.status_code'],
  },
  database: { name: 'database query', attributes: ['db.operation.name'] },
} as const satisfies Record<string, { readonly name: string; readonly attributes: readonly string[] }>

export type SpanKey = keyof typeof SPANS
export type SpanAttributes<K extends SpanKey> = Readonly<
  Partial<Record<(typeof SPANS)[K]['attributes'][number], string | number>>
>
export type AddAttributes<K extends SpanKey> = (attributes: SpanAttributes<K>) => void

type Api = typeof OpenTelemetry

/** The request that asynchronous work belongs to. */
type Scope = { readonly request: RequestScope; readonly span: Span | null }
export type RequestScope = {
  /** The request's start time, from `performance.now()`. */
  readonly startedAt: number
  /** False for work in an open client, which outlives the request that opened it. */
  readonly isRequest: boolean
  /**
   * True once the request has ended. Work that outlives the request, such as a shared batch, is not attributed to it.
   */
  isOver: boolean
}

export type RequestFacts = {
  readonly method: string
  readonly traceparent: string | null
  readonly attributes: SpanAttributes<'request'>
}

/**
 * Creates traces. A request that is not traced has no spans and costs only an `AsyncLocalStorage.run`. No trace context
 * is passed to sandbox processes or sent with outbound requests.
 */
export interface Spans {
  /** Runs a request's work in a span. `work` receives a function that sets the span's route and further attributes. */
  request<T>(
    facts: RequestFacts,
    work: (
      addAttributes: (name: string, attributes: SpanAttributes<'request'>, isError: boolean) => void,
    ) => Promise<T>,
  ): Promise<T>
  /** Starts a separate trace for work outside a request. */
  root<K extends SpanKey, T>(
    key: K,
    attributes: SpanAttributes<K>,
    work: (addAttributes: AddAttributes<K>) => Promise<T>,
  ): Promise<T>
  run<K extends SpanKey, T>(
    key: K,
    attributes: SpanAttributes<K>,
    work: (addAttributes: AddAttributes<K>) => Promise<T>,
  ): Promise<T>
  /** Adds attributes to the current span. */
  addAttributes(attributes: SpanAttributes<'login'>): void
  /** Records a span for an operation that has just ended and took `milliseconds` ms. */
  past<K extends SpanKey>(key: K, milliseconds: number, attributes: SpanAttributes<K>, isError: boolean): void
  /**
   * Binds a function to the current span, for callers that run in another context, such as handlers of a process's
   * messages.
   */
  keep<F extends (...args: never[]) => unknown>(work: F): F
  /** The current request; undefined outside a request. */
  current(): RequestScope | undefined
  /** The ids for log records; undefined if the work is not traced. */
  context(): Context | undefined
  /**
   * @param api loaded only if telemetry is used
   * @param tracer if null, requests are timed but not traced
   */
  begin(api: Api, tracer: Tracer | null): void
}

export function createSpans(): Spans {
  const scopes = new AsyncLocalStorage<Scope>()
  let tracing: Tracing | null = null
  let on = false

  function parent(): Span | null {
    const scope = scopes.getStore()
    return scope === undefined || scope.request.isOver ? null : scope.span
  }

  async function ended<T>(span: Span, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      // Don't record the message, because it may contain user input.
      span.setStatus({ code: ERROR })
      throw error
    } finally {
      span.end()
    }
  }

  return {
    request(facts, work) {
      if (!on) return work(() => {})
      const span = tracing === null ? null : startRequest(tracing, facts)
      const recorded = span?.isRecording() ? span : null
      const request = { startedAt: performance.now(), isRequest: true, isOver: false }
      return scopes.run({ request, span: recorded }, async () => {
        try {
          return await work((name, attributes, isError) => {
            recorded?.updateName(name).setAttributes(attributes as Attributes)
            if (isError) recorded?.setStatus({ code: ERROR })
          })
        } finally {
          request.isOver = true
          recorded?.end()
        }
      })
    },
    async root(key, attributes, work) {
      if (tracing === null) return work(() => {})
      const { api, tracer } = tracing
      const span = tracer.startSpan(SPANS[key].name, { attributes: attributes as Attributes }, api.ROOT_CONTEXT)
      if (!span.isRecording()) return work(() => {})
      const request = { startedAt: performance.now(), isRequest: false, isOver: false }
      const addAttributes = (more: Readonly<Record<string, unknown>>) => void span.setAttributes(more as Attributes)
      try {
        return await scopes.run({ request, span }, () => ended(span, () => work(addAttributes)))
      } finally {
        request.isOver = true
      }
    },
    run(key, attributes, work) {
      const above = parent()
      const scope = scopes.getStore()
      if (above === null || tracing === null || scope === undefined) return work(() => {})
      const { api, tracer } = tracing
      const span = tracer.startSpan(SPANS[key].name, { attributes: attributes as Attributes }, below(api, above))
      const addAttributes = (more: Readonly<Record<string, unknown>>) => void span.setAttributes(more as Attributes)
      return scopes.run({ request: scope.request, span }, () => ended(span, () => work(addAttributes)))
    },
    addAttributes: (attributes) => void parent()?.setAttributes(attributes as Attributes),
    past(key, milliseconds, attributes, isError) {
      const above = parent()
      if (above === null || tracing === null) return
      const { api, tracer } = tracing
      const startTime = Date.now() - milliseconds
      const options = { startTime, kind: api.SpanKind.CLIENT, attributes: attributes as Attributes }
      const span = tracer.startSpan(SPANS[key].name, options, below(api, above))
      if (isError) span.setStatus({ code: ERROR })
      span.end()
    },
    keep(work) {
      const scope = parent() === null ? undefined : scopes.getStore()
      if (scope === undefined) return work
      return ((...args: never[]) => scopes.run(scope, () => work(...args))) as typeof work
    },
    current() {
      const request = scopes.getStore()?.request
      return request?.isRequest ? request : undefined
    },
    context() {
      const span = parent()
      return span === null || tracing === null ? undefined : below(tracing.api, span)
    },
    begin(api, tracer) {
      tracing = tracer === null ? null : { api, tracer }
      on = true
    },
  }
}

/** Equal to `SpanStatusCode.ERROR`. Importing the enum would load the whole package. */
const ERROR = 2

type Tracing = { readonly api: Api; readonly tracer: Tracer }

function startRequest({ api, tracer }: Tracing, { method, traceparent, attributes }: RequestFacts): Span {
  const options = { kind: api.SpanKind.SERVER, attributes: attributes as Attributes }
  return tracer.startSpan(method, options, contextOf(api, traceparent))
}

function below({ trace, ROOT_CONTEXT }: Api, span: Span): Context {
  return trace.setSpan(ROOT_CONTEXT, span)
}

/**
 * An invalid header is ignored, as the specification requires.
 * @see https://www.w3.org/TR/trace-context/#traceparent-header-field-values
 */
function contextOf({ trace, ROOT_CONTEXT }: Api, traceparent: string | null): Context {
  const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/
  const [, version, traceId = '', spanId = '', flags = ''] = form.exec(traceparent ?? '') ?? []
  if (version === undefined || version === 'ff' || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return ROOT_CONTEXT
  const traceFlags = Number.parseInt(flags, 16) & 1
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, isRemote: true, traceFlags })
}

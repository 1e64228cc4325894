import type { Signal } from '../../../base/config/telemetry-settings.ts'
import type { Message } from '../otlp/messages.ts'
import { listOf, messageOf } from '../otlp/values.ts'

/** The names of the organisation and environment that own the telemetry. */
export type Origin = { readonly organisation: string; readonly environment: string }

const LISTS = { metrics: 'resourceMetrics', logs: 'resourceLogs', traces: 'resourceSpans' } as const
const ORGANISATION = 'solhost.organisation'
const ENVIRONMENT = 'solhost.environment'

/**
 * Adds the names as attributes. Replaces the values that a Satellite sends for these attributes, because its token
 * determines who owns the telemetry.
 */
export function withOrigin(signal: Signal, request: Message, { organisation, environment }: Origin): Message {
  const list = LISTS[signal]
  const own = [
    { key: ORGANISATION, value: { stringValue: organisation } },
    { key: ENVIRONMENT, value: { stringValue: environment } },
  ]
  const items = listOf(request[list]).map((item) => {
    const resource = messageOf(item.resource)
    const others = listOf(resource.attributes).filter(({ key }) => key !== ORGANISATION && key !== ENVIRONMENT)
    return { ...item, resource: { ...resource, attributes: [...others, ...own] } }
  })
  return { ...request, [list]: items }
}

import type { GuestApi } from '../../../runtime/sandbox/guest-api.d.ts'

/** The guest part of the probe plugin. It passes any value from a script to the host, as a command or a request. */
export default function probe(api: GuestApi) {
  return {
    keep: (...args: unknown[]): void => api.command('keep', args),
    ask: (...args: unknown[]): Promise<unknown> => api.request('ask', args),
  }
}

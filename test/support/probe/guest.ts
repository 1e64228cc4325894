import type { GuestApi } from '../../../runtime/sandbox/guest-api.d.ts'

/** Passes any value from a script to the host, as a command or as a request. */
export default function probe(api: GuestApi) {
  return {
    keep: (...args: unknown[]): void => api.command('keep', args),
    ask: (...args: unknown[]): Promise<unknown> => api.request('ask', args),
  }
}

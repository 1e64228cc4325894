import type { GuestApi } from '../../../runtime/sandbox/guest-api.d.ts'

/** Hands on whatever it is given, so that what lies behind a binding is all that stands in an attack's way. */
export default function directory(api: GuestApi) {
  return {
    note: (text: unknown): void => api.command('note', [text]),
    find: (name: unknown): Promise<unknown> => api.request('find', [name]),
  }
}

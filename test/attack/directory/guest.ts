import type { GuestApi } from '../../../runtime/sandbox/guest-api.d.ts'

/** A binding that passes all values on without checks. Only the code behind the binding can stop an attack. */
export default function directory(api: GuestApi) {
  return {
    note: (text: unknown): void => api.command('note', [text]),
    find: (name: unknown): Promise<unknown> => api.request('find', [name]),
  }
}

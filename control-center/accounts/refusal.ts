import { isRefusal } from '../../base/http/errors.ts'
import type { PageText } from '../pages/page.ts'

type Fault = { readonly message: string; readonly key?: string; readonly values?: readonly number[] }

/** Why something was refused, in the reader's language where there is a text. @throws what is no refusal */
export function reasonOf(text: PageText, error: unknown): string {
  if (!isRefusal(error)) throw error
  const { faults } = error.details as { faults?: readonly Fault[] }
  if (faults === undefined) return error.message
  return faults.map(({ message, key, values = [] }) => (key === undefined ? message : text(key, ...values))).join(' ')
}

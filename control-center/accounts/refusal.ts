import { isRefusal } from '../../base/http/errors.ts'
import type { PageText } from '../pages/page.ts'

type Fault = { readonly message: string; readonly key?: string; readonly values?: readonly number[] }

/**
 * Why a request was rejected, in the reader's language if there is a translation.
 * @throws any error that is not a rejection
 */
export function reasonOf(text: PageText, error: unknown): string {
  if (!isRefusal(error)) throw error
  const { faults } = error.details as { faults?: readonly Fault[] }
  if (faults === undefined) return error.message
  return faults.map(({ message, key, values = [] }) => (key === undefined ? message : text(key, ...values))).join(' ')
}

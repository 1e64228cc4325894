import { unicodeEscape } from '../template/escape.ts'
import type { Fault, FaultCode, Warning, WarningCode } from './faults.ts'

/**
 * Maximum number of errors, and of warnings, that are listed. Chosen here: people fix the first hundred errors before
 * they read on, and a malicious bundle can't cause a long response.
 */
const MAX_LISTED = 100

/** The value of `file` for errors that concern the zip as a whole. */
export const WHOLE_BUNDLE = 'bundle.zip'

/**
 * Collects errors and warnings in the order in which they are found. Lists the first hundred of each, then one entry
 * with the number of omitted ones.
 */
export class Findings {
  private readonly faultList = new BoundedList<Fault>()
  private readonly warningList = new BoundedList<Warning>()

  fault(file: string, code: FaultCode, message: string, place: { line?: number; column?: number } = {}): void {
    this.faultList.add({ file, ...place, code, message })
  }

  warn(file: string, code: WarningCode, message: string, place: { line?: number; column?: number } = {}): void {
    this.warningList.add({ file, ...place, code, message })
  }

  add(found: { readonly faults: readonly Fault[]; readonly warnings: readonly Warning[] }): void {
    for (const fault of found.faults) this.faultList.add(fault)
    for (const warning of found.warnings) this.warningList.add(warning)
  }

  get anyFault(): boolean {
    return this.faultList.count > 0
  }

  /** Whether further errors are only counted. If so, there is no point in looking for more. */
  get isFull(): boolean {
    return this.faultList.count > MAX_LISTED
  }

  /** Whether further warnings are only counted. */
  get isFullOfWarnings(): boolean {
    return this.warningList.count > MAX_LISTED
  }

  get faults(): readonly Fault[] {
    return this.faultList.listed((more) => ({
      file: WHOLE_BUNDLE,
      code: 'more_faults',
      message: `${more} more ${more === 1 ? 'error is' : 'errors are'} not listed`,
    }))
  }

  get warnings(): readonly Warning[] {
    return this.warningList.listed((more) => ({
      file: WHOLE_BUNDLE,
      code: 'more_warnings',
      message: `${more} more ${more === 1 ? 'warning is' : 'warnings are'} not listed`,
    }))
  }
}

class BoundedList<Item> {
  private readonly items: Item[] = []
  count = 0

  add(item: Item): void {
    this.count++
    if (this.items.length < MAX_LISTED) this.items.push(item)
  }

  listed(rest: (more: number) => Item): readonly Item[] {
    const more = this.count - this.items.length
    return more > 0 ? [...this.items, rest(more)] : [...this.items]
  }
}

/** Makes an untrusted name safe for responses and logs: printable ASCII, at most 120 characters. */
export function showName(name: string): string {
  const printable = name.slice(0, 121).replace(/[^\x20-\x7e]/g, unicodeEscape)
  return printable.length > 120 ? `${printable.slice(0, 119)}…` : printable
}

import type { FormUpdate } from '../../plugins/forms/host.ts'
import { elementsOf, type FormDefinition } from '../../runtime/forms/form-definition.ts'
import { createRedact, type Redact } from '../solutions/redact.ts'

/** Values entered in one client that must not be logged. The client's scripts may quote them in any later call. */
export interface EnteredSecrets {
  /**
   * Call this when `onSolutionOpen` receives the page's query parameters. All `custom_*` parameters are treated as
   * secrets.
   */
  opened(url: ReadonlyMap<string, string>): void
  /** Call this when an input receives a value. Only the values of password elements are recorded. */
  entered(definition: FormDefinition, element: string, value: unknown): void
  /** Call this when scripts have changed a form, possibly including the value of a password element. */
  updated(definition: FormDefinition | null, update: FormUpdate): void
  /** The values, keyed by element or parameter name. Later values of the same element have a numeric suffix. */
  readonly all: () => ReadonlyMap<string, string>
  readonly redact: Redact
}

/**
 * Maximum number of stored values, and of characters in all of them. Only the newest values are stored. No person
 * enters more passwords than this.
 */
const MOST_VALUES = 50
const MOST_CHARACTERS = 100_000

type Entered = { readonly element: string; readonly value: string }

const passwordNames = new WeakMap<FormDefinition, ReadonlySet<string>>()

export function createEnteredSecrets(): EnteredSecrets {
  /** Oldest first. */
  let kept: readonly Entered[] = []
  let ofAddress: ReadonlyMap<string, string> = new Map()
  let all: ReadonlyMap<string, string> = new Map()

  function keep(element: string, value: unknown): void {
    if (typeof value !== 'string' || value === '') return
    const others = kept.filter((one) => one.element !== element || one.value !== value)
    kept = newest([...others, { element, value }])
    gather()
  }

  function gather(): void {
    all = new Map([...named(kept), ...ofAddress])
  }

  return {
    opened(url) {
      ofAddress = new Map([...url].filter(([name]) => name.startsWith('custom_')))
      gather()
    },
    entered(definition, element, value) {
      if (passwordsOf(definition).has(element)) keep(element, value)
    },
    updated(definition, { elements }) {
      if (definition === null) return
      for (const name of passwordsOf(definition)) keep(name, Object.hasOwn(elements, name) && elements[name]?.value)
    },
    all: () => all,
    redact: (text) => createRedact(all)(text),
  }
}

function newest(all: readonly Entered[]): readonly Entered[] {
  let left = MOST_CHARACTERS
  const from = all.findLastIndex(({ value }) => {
    left -= value.length
    return left < 0
  })
  return all.slice(from + 1).slice(-MOST_VALUES)
}

/** The suffix can't cause a collision: element names contain no hyphen. */
function named(all: readonly Entered[]): [string, string][] {
  const counts = new Map<string, number>()
  return all.map(({ element, value }) => {
    const count = (counts.get(element) ?? 0) + 1
    counts.set(element, count)
    return [count === 1 ? element : `${element}-${count}`, value]
  })
}

function passwordsOf(definition: FormDefinition): ReadonlySet<string> {
  let names = passwordNames.get(definition)
  if (names === undefined) {
    const passwords = [...elementsOf(definition.layout)].filter(({ type }) => type === 'password')
    names = new Set(passwords.map(({ name }) => name))
    passwordNames.set(definition, names)
  }
  return names
}

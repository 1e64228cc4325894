import forms, { type FormUpdate } from '../../plugins/forms/host.ts'
import type { FormDefinition } from '../../runtime/forms/form-definition.ts'
import type { Failed } from '../../runtime/outcome.ts'
import type { Call, Json, SolutionFacts } from '../../runtime/plugin.ts'
import type { ClientOutcome, SandboxClient } from '../../runtime/supervisor.ts'
import { type ClientLab, createClientLab, type LabClient } from './clients.ts'
import { checkedForm } from './forms.ts'

/** Forms by name, each with an optional script. `form` is in the format that authors write. */
export type WrittenForms = Readonly<Record<string, { readonly form: unknown; readonly script?: string }>>

/** The changes that a call sent to the host, after the forms plugin has validated them. */
export type Changes = {
  readonly shown: string | null
  /** Element states, by form and element name, such as `orders.total`. */
  readonly elements: Readonly<Record<string, unknown>>
  readonly titles: Readonly<Record<string, string>>
  /** Whether each form has unsaved input, by form name. */
  readonly unsaved: Readonly<Record<string, boolean>>
  /**
   * The form that a script wants to open after the user confirms leaving the current one. Null if no confirmation is
   * needed.
   */
  readonly leaving: string | null
  /** The event types that scripts now listen to. `null` means unchanged. */
  readonly listening: readonly string[] | null
}

export type FormClient = LabClient & {
  /** Performs a user's action on a form element. */
  readonly fire: (form: string, element: string, type: string, value?: Json) => Promise<ClientOutcome>
  /** Waits for a call, and returns the changes that it sent. @throws Error if the call failed */
  readonly changes: (call: Promise<ClientOutcome>) => Promise<Changes>
  /** Opens another client for the same version of the solution. */
  readonly again: () => Promise<FormClient>
}

export type FormLab = Omit<ClientLab, 'open' | 'tryOpen' | 'version'> & {
  readonly open: (source: string, forms: WrittenForms) => Promise<FormClient>
  readonly tryOpen: (source: string, forms: WrittenForms) => Promise<SandboxClient | Failed>
}

/** Creates a lab that runs clients with forms in real sandbox processes. */
export function createFormLab(options: Parameters<typeof createClientLab>[0] = {}): FormLab {
  const lab = createClientLab(options)

  function versionOf(source: string, written: WrittenForms) {
    const read = Object.entries(written).map(
      ([name, { form, script = '' }]) => [name, definitionOf(form), script] as const,
    )
    const { loadable: version } = lab.shared(
      source,
      Object.fromEntries(read.map(([name, definition, script]) => [name, { definition, script }])),
    )
    return { version, definitions: new Map(read.map(([name, definition]) => [name, definition])) }
  }

  return {
    ...lab,
    tryOpen: (source, written) => lab.tryOpen(versionOf(source, written).version),
    async open(source, written) {
      const { version, definitions } = versionOf(source, written)
      const again = async () => wrap(await lab.open(version))
      function wrap(client: LabClient): FormClient {
        return {
          ...client,
          again,
          fire: (form, element, type, value = null) => client.run('forms.event', { form, element, type, value }),
          changes: async (call) => changesOf(await call, definitions),
        }
      }
      return again()
    },
  }
}

/**
 * Parses a form in the format that authors write.
 * @throws Error if an upload would reject the form
 */
export function definitionOf(written: unknown): FormDefinition {
  const { form, faults } = checkedForm(written)
  if (form === null) throw new Error(faults.join('\n'))
  return form
}

/**
 * Validates and applies the commands that a call sent, as the host does.
 * @throws Error if the call failed or a command is invalid
 */
export function changesOf(outcome: ClientOutcome, definitions: ReadonlyMap<string, FormDefinition>): Changes {
  if (outcome.code !== 'returned') throw new Error(`${outcome.code}: ${outcome.message}`)
  const changes = {
    shown: null as string | null,
    elements: {} as Record<string, unknown>,
    titles: {} as Record<string, string>,
    unsaved: {} as Record<string, boolean>,
    leaving: null as string | null,
    listening: null as readonly string[] | null,
  }
  const plugin = forms({
    update(_call, { form, title, unsaved, elements }: FormUpdate) {
      if (unsaved !== undefined) changes.unsaved[form] = unsaved
      if (title !== undefined) changes.titles[form] = title
      for (const [name, state] of Object.entries(elements)) changes.elements[`${form}.${name}`] = state
    },
    show(_call, form) {
      changes.shown = form
    },
    leaving(_call, form) {
      changes.leaving = form
    },
    onlyForm: () => null,
    listening(_call, types) {
      changes.listening = types
    },
  })
  const call = {} as Call
  for (const { plugin: name, method, args } of outcome.commands) {
    if (name !== 'forms') continue
    const command = plugin.commands[method]
    if (command === undefined) throw new Error(`there is no command ${method}`)
    command.apply(call, command.check(args, { definitions } as SolutionFacts) as never)
  }
  return changes
}

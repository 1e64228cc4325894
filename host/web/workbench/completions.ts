import type { Completion, CompletionContext, CompletionResult, CompletionSource } from '@codemirror/autocomplete'
import { pageData } from './page-data.ts'
import { completeJson, type JsonSchema } from './schema-completions.ts'

/** The completions from the host: see host/workbench/completions.ts. */
type Offers = {
  /** The members of each object by its path, such as `plugins.http`. The globals are listed under the empty path. */
  readonly members: Readonly<Record<string, readonly Completion[]>>
  readonly manifest: JsonSchema
  readonly form: JsonSchema
}

let offers: Promise<Offers> | undefined

function loadOffers(): Promise<Offers> {
  offers ??= fetch(pageData.completions).then((answer) => answer.json() as Promise<Offers>)
  return offers
}

/** Chooses the completions by the file's path. Returns null for files without any, such as style sheets. */
export function completionsFor(path: string): CompletionSource | null {
  if (/\.(js|ts)$/.test(path)) return completeScript
  if (/(^|\/)solution\.json$/.test(path)) return async (context) => completeJson(context, (await loadOffers()).manifest)
  if (/(^|\/)forms\/[^/]+\.json$/.test(path)) return async (context) => completeJson(context, (await loadOffers()).form)
  return null
}

/** Completes the platform's globals and their members, from the same declarations that other editors use. */
async function completeScript(context: CompletionContext): Promise<CompletionResult | null> {
  const typed = context.matchBefore(/[\w$]+(?:\.[\w$]*)*/)
  if (typed === null && !context.explicit) return null
  const path = typed?.text ?? ''
  const dot = path.lastIndexOf('.')
  const options = (await loadOffers()).members[dot < 0 ? '' : path.slice(0, dot)]
  if (options === undefined) return null
  return { from: context.pos - (path.length - dot - 1), options, validFor: /^[\w$]*$/ }
}

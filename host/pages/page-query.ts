import type { Context } from 'koa'

const LONGEST = 250

/** A query parameter; '' if absent. If it is repeated, the last value wins. */
export function queryText(ctx: Context, name: string): string {
  const value = ctx.query[name]
  return ((Array.isArray(value) ? value.at(-1) : value) ?? '').trim().slice(0, LONGEST)
}

/** A filter form's query parameters, without empty ones. */
export function queryTexts<const Name extends string>(
  ctx: Context,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const texts = names.map((name) => [name, queryText(ctx, name)] as const).filter(([, value]) => value !== '')
  return Object.fromEntries(texts) as Partial<Record<Name, string>>
}

/** Adds query parameters to a path; absent and empty ones are left out. */
export function addressWith(path: string, parameters: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
}

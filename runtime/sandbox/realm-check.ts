import type { Fault } from '../bundle/faults.ts'
import type { RealmNames, ScriptScope } from '../protocol.ts'
import { findDifferences } from './realm-differences.ts'
import { findRepeatedNames, namesOf } from './realm-names.ts'

type Script = { readonly file: string; readonly source: string }

/**
 * Reports code that works differently in the hardened realm, and finds the names that the scripts share there.
 * Differences that this check can't find cause an error at run time.
 * @param scripts scripts without types, in the order of `scopes`
 * @param units the scripts that run together, as indexes
 */
export function checkForRealm(
  scripts: readonly Script[],
  units: readonly (readonly number[])[],
  scopes: readonly ScriptScope[],
  faults: Fault[],
): readonly RealmNames[] {
  faults.push(...findRepeatedNames(scripts, units, scopes))
  const declared = new Set<string>()
  const names = scripts.map(({ source }, index) => namesOf(source, scopes[index]))
  for (const { globals, lexicals } of names) for (const name of [...globals, ...lexicals]) declared.add(name)
  for (const { file, source } of scripts) {
    for (const difference of findDifferences(source, declared)) {
      faults.push({ code: 'realm_difference', file, ...difference })
    }
  }
  return names
}

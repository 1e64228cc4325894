import type { Fault } from '../bundle/faults.ts'
import type { RealmNames, ScriptScope } from '../protocol.ts'
import { findDifferences } from './realm-differences.ts'
import { findRepeatedNames, namesOf, readTopLevel } from './realm-names.ts'

type Script = { readonly file: string; readonly source: string }

/**
 * Reports code that works differently in the hardened realm, and finds the names that scripts share there. A difference
 * that this check can't find causes an error at run time.
 * @param scripts scripts without types, in the order of `scopes`
 * @param units the scripts that run together, as indexes
 */
export function checkForRealm(
  scripts: readonly Script[],
  units: readonly (readonly number[])[],
  scopes: readonly ScriptScope[],
  faults: Fault[],
): readonly RealmNames[] {
  const topLevels = scripts.map(({ file, source }, index) => readTopLevel(file, source, scopes[index]))
  faults.push(...findRepeatedNames(topLevels, units))
  const declared = new Set<string>()
  const names = topLevels.map(namesOf)
  for (const { globals, lexicals } of names) for (const name of [...globals, ...lexicals]) declared.add(name)
  for (const { file, source } of scripts) {
    for (const difference of findDifferences(source, declared)) {
      faults.push({ code: 'realm_difference', file, ...difference })
    }
  }
  return names
}

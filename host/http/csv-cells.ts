import type { Permission } from '../../base/accounts/user-rules.ts'

/**
 * Characters that make a spreadsheet treat a cell as a formula, including full-width forms (OWASP, "CSV Injection").
 */
const FORMULA = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/

/**
 * Returns a cell that spreadsheets don't evaluate. A leading apostrophe marks it as text. A cell that already looks
 * escaped gets a second apostrophe.
 */
export function writeCell(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text
}

/** Reverses `writeCell`. */
export function readCell(cell: string): string {
  return cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell
}

/**
 * Returns permissions as one string. In `Users;Sales@crm`, the second permission applies only in the solution `crm`. A
 * backslash escapes `;`, `@` and `\` in names.
 */
export function writePermissionCell(permissions: readonly Permission[]): string {
  return permissions
    .map((permission) => {
      if (typeof permission === 'string') return escapeName(permission)
      return `${escapeName(permission.name)}@${permission.solution}`
    })
    .join(';')
}

/** Reads the output of `writePermissionCell`. Ignores spaces around names. */
export function readPermissionCell(cell: string): Permission[] {
  const parts = cell.match(/(?:\\.|[^;\\]|\\$)+/gsu) ?? []
  return parts
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(permissionOf)
}

function permissionOf(text: string): Permission {
  const parts = /^((?:\\.|[^@\\]|\\$)*)@(.*)$/su.exec(text)
  if (parts === null) return unescapeName(text)
  return { name: unescapeName(parts[1] ?? '').trim(), solution: (parts[2] ?? '').trim() }
}

function escapeName(name: string): string {
  return name.replace(/[;@\\]/g, '\\$&')
}

function unescapeName(text: string): string {
  return text.replace(/\\([;@\\])/g, '$1')
}

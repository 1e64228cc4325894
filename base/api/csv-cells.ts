import type { Permission } from '../accounts/user-rules.ts'

/** What a spreadsheet takes for a formula when a cell begins with it, full-width forms too (OWASP, "CSV Injection"). */
const FORMULA = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/

/** A cell that no spreadsheet runs: an apostrophe makes it text. Cells that look as if they had one already get another. */
export function writeCell(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text
}

/** What `writeCell` was given. */
export function readCell(cell: string): string {
  return cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell
}

/**
 * Permissions as one text: `Users;Sales@crm`, where the second holds in the solution `crm` only. A backslash goes before
 * `;`, `@` and `\` that belong to a name.
 */
export function writePermissionCell(permissions: readonly Permission[]): string {
  return permissions
    .map((permission) => {
      if (typeof permission === 'string') return escapeName(permission)
      return `${escapeName(permission.name)}@${permission.solution}`
    })
    .join(';')
}

/** Reads what `writePermissionCell` wrote; space around a name does not count. */
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

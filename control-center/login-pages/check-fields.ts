import type { Design } from './design.ts'

/**
 * Whether what was entered into a page's further fields lets a user in: what must be filled in is, a choice is one of those that are
 * offered, and a field of the tenant names one of the user's tenant values.
 *
 * Chosen here: no script runs at a sign-in by PLATFORM_CLOUD, so this is what the fields are for. It is asked after the password, and
 * a refusal is that of a wrong one.
 */
export function fitsFields(
  { fields }: Pick<Design, 'fields'>,
  entered: Readonly<Record<string, string>>,
  tenant: readonly (string | number)[] | null,
): boolean {
  return fields.every(({ name, type, required, options, isTenant }) => {
    const value = (Object.hasOwn(entered, name) ? (entered[name] ?? '') : '').trim()
    if (value === '') return !required
    if (type === 'select' && !options.some((option) => option.value === value)) return false
    return !isTenant || (tenant ?? []).some((one) => String(one) === value)
  })
}

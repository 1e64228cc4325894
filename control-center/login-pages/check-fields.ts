import type { Design } from './design.ts'

/**
 * Checks whether the values entered in a page's additional fields allow the sign-in. Required fields must be filled in,
 * a choice must be one of the options, and a tenant field must match one of the user's tenant values. Chosen here:
 * PLATFORM_CLOUD sign-ins don't run a script that could check the fields, so this function does. It runs after the
 * password check, and the response to a failure is the same as for a wrong password.
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

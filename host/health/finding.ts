/** A notice for the operator, as the key of a text below `admin.health.finding`. */
export type Finding = { readonly key: string; readonly values: readonly (string | number)[]; readonly href?: string }

import type { ReactNode } from 'react'
import type { Role } from '../api/client.ts'
import { useMay } from '../session/session.ts'

/** @returns the tooltip of a disabled button, such as `Requires the operator role.` */
export const requiresRole = (role: Role) => `Requires the ${role} role.`

export interface ButtonProps {
  readonly children: ReactNode
  readonly onClick?: () => void
  readonly type?: 'button' | 'submit'
  readonly requires?: Role
  readonly isBusy?: boolean
  readonly disabled?: boolean
  readonly kind?: 'primary' | 'danger' | ''
  readonly isSmall?: boolean
  readonly label?: string
}

/** A button. If the user lacks the required role, the button is disabled, and a tooltip names the role. */
export function Button({
  children,
  requires = 'viewer',
  isBusy = false,
  disabled = false,
  kind = '',
  isSmall,
  label,
  ...rest
}: ButtonProps) {
  const may = useMay(requires)
  return (
    <button
      type="button"
      {...rest}
      className={`button ${kind}${isSmall ? ' small' : ''}`}
      disabled={!may || isBusy || disabled}
      aria-busy={isBusy || undefined}
      aria-label={label}
      title={may ? undefined : requiresRole(requires)}
    >
      {children}
    </button>
  )
}

interface ActionButtonProps extends Omit<ButtonProps, 'onClick' | 'isBusy'> {
  readonly action: { readonly isPending: boolean; readonly mutate: () => void }
}

/** A button that runs an action when clicked. Requires the operator role unless `requires` names another. */
export function ActionButton({ action, ...button }: ActionButtonProps) {
  return <Button requires="operator" isSmall {...button} isBusy={action.isPending} onClick={() => action.mutate()} />
}

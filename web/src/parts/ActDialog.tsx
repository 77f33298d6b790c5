import { useMutation, useQueryClient, type QueryKey } from "@tanstack/react-query";
import { useId, type ReactNode } from "react";
import { isOvertaken } from "@/api/seen";
import css from "./ActDialog.module.css";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { Complaint } from "./Notes";
import { toast } from "./Toast";

interface ActDialogProps<Made> {
  title: string;
  /** Label of the button. */
  verb: string;
  kind?: "primary" | "danger";
  wide?: boolean;
  /** False while the form is incomplete or invalid. */
  isReady?: boolean;
  act: () => Promise<Made>;
  /** Queries to refetch after the action. */
  stale: QueryKey;
  /** Notification after the action. */
  done?: string;
  /** Content that replaces the form after the action, with a Done button. Without it the dialog closes. */
  after?: (made: Made) => ReactNode;
  onClose: () => void;
  children: ReactNode;
}

/** A dialog with a form that performs an action and shows its error. Enter in a field submits. */
export function ActDialog<Made>({ title, verb, kind = "primary", wide, isReady = true, act, stale, done, after, onClose, children }: ActDialogProps<Made>) {
  const client = useQueryClient();
  const form = useId();
  const action = useMutation({
    mutationFn: act,
    onSuccess: () => {
      if (done) toast(done);
      if (!after) onClose();
      void client.invalidateQueries({ queryKey: stale });
    },
  });
  if (action.isSuccess && after) {
    return (
      <Dialog title={title} wide={wide} onClose={onClose} footer={<Button kind="primary" onClick={onClose}>Done</Button>}>
        {after(action.data)}
      </Dialog>
    );
  }
  return (
    <Dialog
      title={title}
      wide={wide}
      onClose={onClose}
      footer={
        <Button kind={kind} type="submit" form={form} busy={action.isPending} disabled={!isReady}>
          {verb}
        </Button>
      }
    >
      <form
        id={form}
        className={css.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady && !action.isPending) action.mutate();
        }}
      >
        {children}
        {action.error && (isOvertaken(action.error) ? <Conflict /> : <Complaint error={action.error} />)}
      </form>
    </Dialog>
  );
}

/** The user's input stays visible, and the concurrent change is not overwritten. */
function Conflict() {
  return (
    <p className={css.overtaken} role="alert">
      Another user has changed this since you opened it, so nothing was saved. Copy your changes, close this dialog and open it again to see the current version.
    </p>
  );
}

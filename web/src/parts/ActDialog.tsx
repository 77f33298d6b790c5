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
  /** What the button says. */
  verb: string;
  kind?: "primary" | "danger";
  wide?: boolean;
  /** False while what is filled in cannot be sent. */
  isReady?: boolean;
  act: () => Promise<Made>;
  /** The answers that are asked again once it is done. */
  stale: QueryKey;
  /** Said when it is done. */
  said?: string;
  /** Shown in place of the question once it is done, with a button that closes; without it the window closes by itself. */
  after?: (made: Made) => ReactNode;
  onClose: () => void;
  children: ReactNode;
}

/** A window that asks for something and does it: what to fill in, why it failed, and the button. Enter in a field is the button. */
export function ActDialog<Made>({ title, verb, kind = "primary", wide, isReady = true, act, stale, said, after, onClose, children }: ActDialogProps<Made>) {
  const client = useQueryClient();
  const form = useId();
  const done = useMutation({
    mutationFn: act,
    onSuccess: () => {
      if (said) toast(said);
      if (!after) onClose();
      void client.invalidateQueries({ queryKey: stale });
    },
  });
  if (done.isSuccess && after) {
    return (
      <Dialog title={title} wide={wide} onClose={onClose} footer={<Button kind="primary" onClick={onClose}>Done</Button>}>
        {after(done.data)}
      </Dialog>
    );
  }
  return (
    <Dialog
      title={title}
      wide={wide}
      onClose={onClose}
      footer={
        <Button kind={kind} type="submit" form={form} busy={done.isPending} disabled={!isReady}>
          {verb}
        </Button>
      }
    >
      <form
        id={form}
        className={css.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady && !done.isPending) done.mutate();
        }}
      >
        {children}
        {done.error && (isOvertaken(done.error) ? <Overtaken /> : <Complaint error={done.error} />)}
      </form>
    </Dialog>
  );
}

/** What is typed stays in sight: nothing of it is lost, and nothing of the other's is written over. */
function Overtaken() {
  return (
    <p className={css.overtaken} role="alert">
      Somebody has changed this since you opened it, and nothing was saved. Copy what you wrote, close this window and open it again: it then begins with what stands there now.
    </p>
  );
}

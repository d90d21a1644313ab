/* warploop: see core/cmd/cmd.h. */
#include "core/cmd/cmd.h"

int main(int argc, char **argv)
{
    return cmd_main(argc, argv);
}
